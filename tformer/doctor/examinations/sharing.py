"""Layers have weights of their own."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from tformer.doctor._patient import Patient
from tformer.doctor.report import Finding, listed

CHAPTER = "The encoder"
ON_PURPOSE = (
    "That is right where layers share their weights on purpose, as in ALBERT "
    "(shared=True), and wrong otherwise (shared=False)."
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Look for a module that has two names and is called more than once."""
    if patient.shared:
        return
    places: dict[int, list[str]] = {}
    modules: dict[int, nn.Module] = {}
    for name, module in patient.model.named_modules(remove_duplicate=False):
        if not isinstance(module, nn.Embedding) and any(
            each.dim() > 1 for each in module.parameters()
        ):
            places.setdefault(id(module), []).append(name)
            modules[id(module)] = module
    named = {key: names for key, names in places.items() if len(names) > 1}
    calls = _calls(patient, [modules[key] for key in named]) if named else {}
    shared = {key: names for key, names in named.items() if calls.get(key, 0) > 1}
    tables = {id(p) for m in patient.model.modules() if isinstance(m, nn.Embedding)
              for p in m.parameters()}  # fmt: skip
    outermost = [
        (names, modules[key])
        for key, names in shared.items()
        if not any(
            name.startswith(f"{other}.")
            for name in names
            for others in shared.values()
            for other in others
            if other
        )
        and not {id(p) for p in modules[key].parameters() if p.dim() > 1} <= tables
    ]
    if outermost:
        names, module = outermost[0]
        more = f", and so with {len(outermost) - 1} more" if len(outermost) > 1 else ""
        yield Finding(
            code="layers-shared",
            title="one layer is used in several places",
            tried="looked for modules that appear under more than one name.",
            seen=f"{listed(names)} are one and the same {type(module).__name__}{more}.",
            means="all of them train one set of weights, so the model is as small as "
            "if it had a single layer there.",
            look="[layer] * n, and one attention passed to two sublayers: make a new "
            "one each time, or copy.deepcopy it.",
            design=ON_PURPOSE if patient.shared is None else "",
        )


def _calls(patient: Patient, modules: list[nn.Module]) -> dict[int, int]:
    """How often each is called in one pass."""
    counts: dict[int, int] = {}

    def count(module: nn.Module, *_: object) -> None:
        counts[id(module)] = counts.get(id(module), 0) + 1

    hooks = [each.register_forward_pre_hook(count) for each in modules]
    try:
        patient.logits(patient.source(), patient.target())
    finally:
        for hook in hooks:
            hook.remove()
    containers = (nn.ModuleList, nn.ModuleDict)
    for each in modules:
        if isinstance(each, containers):  # never called; its contents are
            counts[id(each)] = 0
    return counts
