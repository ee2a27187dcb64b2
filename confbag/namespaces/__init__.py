"""One pydantic model per namespace; an engine's own derive from the same base,
`confbag.namespaces.fields.Namespace`."""
