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
            each.numel() > 1 for each in module.parameters()
        ):
            places.setdefault(id(module), []).append(name)
            modules[id(module)] = module
    named = {key: names for key, names in places.items() if len(names) > 1}
    calls = _calls(patient, [modules[key] for key in named]) if named else {}
    shared = {k: names for k, names in named.items() if len(calls.get(k, ())) > 1}
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
        and not {id(p) for p in modules[key].parameters() if p.dim() > 1} & tables
    ]
    if outermost:
        names, module = outermost[0]
        read = [id(each) for each in calls[id(module)]]
        kind = type(module).__name__
        in_row = all(name.rpartition(".")[2].isdigit() for name in names)
        twins = in_row and len({*read}) < len(read)
        alone = in_row and _has_another_stack(patient.model, module)
        is_meant = patient.shared is None and not (twins or alone)
        more = f", and so with {len(outermost) - 1} more" if len(outermost) > 1 else ""
        yield Finding(
            code="layers-shared",
            title="one layer is used in several places",
            tried="looked for modules that appear under more than one name.",
            seen=f"{listed(names)} are one and the same {kind}{more}."
            + (" They read the same numbers, and so give the same." if twins else "")
            + (" Another stack has a layer of its own each time." if alone else ""),
            means="all of them train one set of weights, so the model is as small as "
            "if it had a single layer there.",
            look=f"the line that makes {names[0].rpartition('.')[0]}: [{kind}(…)] * "
            f"{len(names)} is one {kind}, {len(names)} times over. Write "
            f"[{kind}(…) for _ in range({len(names)})], or copy.deepcopy it."
            if in_row
            else f"the {kind} that is passed to several parts: make one for each, or "
            "copy.deepcopy it.",
            design=ON_PURPOSE if is_meant else "",
        )


def _has_another_stack(model: nn.Module, layer: nn.Module) -> bool:
    """Whether there is a list of layers of about this size, each by itself."""

    def size(module: nn.Module) -> int:
        return sum(each.numel() for each in module.parameters())

    lists = [e for e in model.modules() if isinstance(e, nn.ModuleList) and len(e) > 1]
    return any(
        len({*map(id, each)}) == len(each)
        and size(layer) / 2 < size(each[0]) < 2 * size(layer)
        for each in lists
    )


def _calls(patient: Patient, modules: list[nn.Module]) -> dict[int, list[object]]:
    """What each reads first, at each of its calls in one pass."""
    calls: dict[int, list[object]] = {}

    def note(module: nn.Module, given: tuple[object, ...]) -> None:
        calls.setdefault(id(module), []).append(given[0] if given else object())

    # Containers are never called; their contents are.
    called = [e for e in modules if not isinstance(e, nn.ModuleList | nn.ModuleDict)]
    hooks = [each.register_forward_pre_hook(note) for each in called]
    try:
        patient.logits(patient.source(), patient.target())
    finally:
        for hook in hooks:
            hook.remove()
    return calls
