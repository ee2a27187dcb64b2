"""The typed bag: settings that know where they came from, and nothing of ops, devices or torch.

Importing it loads neither pydantic nor yaml: a name is loaded when it is first used.
"""

from __future__ import annotations

from confbag.words.exports import exported

__getattr__, __dir__, __all__ = exported(
    globals(),
    {
        "confbag.bag.bag": "Bag",
        "confbag.bag.loading": "load",
        "confbag.errors": (
            "AgreementError AlreadyPublishedError BindError ConfbagError ConfigError DeclaredOnlyError Fault "
            "HandoffError NotPublishedError PlanError PlatformError PluginError RegistrationError RoleError "
            "SignatureError SwapError UnresolvedError"
        ),
        "confbag.namespaces.fields": "Auto Namespace auto",
        "confbag.process.context": (
            "accessor attention_backends get_device get_disagg get_exec get_memory get_model get_parallel "
            "get_spec is_published override publish use_context"
        ),
        "confbag.process.handover": "adopt handoff",
        "confbag.schema.config": "Config",
        "confbag.schema.derived": "schema_from",
        "confbag.sources.record": "Record",
        "confbag.words.secret": "Secret",
    },
)
