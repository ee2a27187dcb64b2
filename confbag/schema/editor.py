"""What an editor may know of a configuration file: the JSON schema of a Config."""

import copy
from typing import Any

from confbag.schema.config import Config


def json_schema(schema: type[Config] = Config) -> dict[str, Any]:
    """The JSON schema of a config file for editors: every key with its description, `preset`, and `x-` keys for
    anchors."""
    document = copy.deepcopy(schema.model_json_schema(by_alias=False))
    _strip(document)
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["title"] = "confbag configuration"
    document["properties"]["preset"] = {
        "type": "string",
        "description": "A named set of values that everything else here overrides.",
    }
    document["patternProperties"] = {"^x-": {"description": "Yours: a place for anchors."}}
    document["required"] = []
    return document


def _strip(node: Any) -> None:
    """Leave out what says nothing to a reader: pydantic's titles, our own marks, and the defaults of whole
    namespaces."""
    if isinstance(node, dict):
        if "properties" in node:
            node.pop("title", None)
            node.pop("required", None)
            for field in node["properties"].values():
                field.pop("title", None)
                field.pop("fingerprint", None)
                field.pop("lock", None)
        for child in node.values():
            _strip(child)
    elif isinstance(node, list):
        for child in node:
            _strip(child)
