"""Plans, prices and comparisons in words: every text that names one says it in these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whygpu.checks.setup import TABLES
from whygpu.quantity import show

if TYPE_CHECKING:
    from whygpu.explain.parts import Comparison
    from whygpu.explain.plan import Cost, Parallelism, Plan


NO_CHANGE = "No single change that was tried, of an answer or of what is assumed, allows a plan."
"""What is said where nothing is recommended, and no repair was found."""


def sentence(plan: Plan) -> str:
    """The verdict in one sentence."""
    memory = plan.memory
    headroom = (
        "" if not memory.usable_gib else f", {100 * (1 - memory.total_gib / memory.usable_gib):.0f}% of its memory free"
    )
    fit = {"fits": f"it fits{headroom}", "tight": "it fits, but tightly", "no": "it does not fit"}[memory.verdict]
    spread = spread_text(plan)
    return f"Take {plan.label}{spread} in {plan.format.upper()}{method_text(plan)}: {fit}, {price_text(plan)}."


def spread_text(plan: Plan) -> str:
    """How a plan is spread, in brackets; nothing where it is not."""
    parallel = plan.parallelism
    parts: list[str] = []
    if parallel.data > 1 and plan.method is None:
        parts.append(f"{parallel.data} replicas")
    if parallel.tensor > 1:
        parts.append(tensor_text(parallel))
    if parallel.pipeline > 1:
        parts.append(f"{parallel.pipeline} stages")
    if experts := experts_text(parallel):
        parts.append(experts)
    if parallel.sharding != "none":
        parts.append(sharding_text(parallel))
    if plan.kv_format is not None:
        parts.append(f"cache in {plan.kv_format.upper()}")
    if plan.nodes > 1:
        parts.append(f"{plan.nodes} machines")
    if plan.batch_size is not None:
        parts.append(f"{'batch' if plan.method is None else 'micro-batch'} of {plan.batch_size}")
    return f" ({', '.join(parts)})" if parts else ""


def experts_text(parallel: Parallelism) -> str:
    """How the experts of a layer are spread, where they are otherwise than all else is."""
    return f"experts over {parallel.expert}" if parallel.expert > parallel.tensor else ""


def sharding_text(parallel: Parallelism) -> str:
    """How training state is sharded."""
    return "tables sharded" if parallel.sharding == TABLES else parallel.sharding.upper().replace("ZERO", "ZeRO-")


def tensor_text(parallel: Parallelism) -> str:
    """How accelerators share each layer, and what divides the cache among them where they keep no copies."""
    match parallel.cache_split:
        case "requests":
            return f"attention data parallel {parallel.tensor} with shared experts"
        case "tokens":
            return f"tensor parallel {parallel.tensor} with decode context parallelism"
        case _:
            return f"tensor parallel {parallel.tensor}"


def method_text(plan: Plan) -> str:
    """By which method it trains; nothing where it does not."""
    methods = {"full": "all weights trained", "lora": "LoRA", "qlora": "QLoRA"}
    return f" with {methods[plan.method]}" if plan.method in methods else ""


def price_text(plan: Plan) -> str:
    """USD an hour, or a month where it is bought, by what the plan compares by, or that there is no price."""
    cost = plan.cost
    if cost is None or is_bought(plan):
        return month_text(plan)
    return f"{show(cost.compared.usd_per_hour, 'USD')} an hour{_what_for(cost)}{spot_text(plan)}{_how_known(cost)}"


def month_text(plan: Plan) -> str:
    """USD a month, or that there is no price."""
    cost = plan.cost
    if cost is None:
        return "no price known"
    return f"{show(cost.compared.usd_per_month, 'USD')} a month{_what_for(cost)}{spot_text(plan)}{_how_known(cost)}"


def is_bought(plan: Plan) -> bool:
    """Whether it is to be bought."""
    return plan.cost is not None and plan.cost.basis == "buying"


def _what_for(cost: Cost) -> str:
    """What is paid, where it is no rent."""
    return {"buying": " to own", "owned": " for power"}.get(cost.basis, "")


def _how_known(cost: Cost) -> str:
    return ", estimated" if cost.estimated else ""


def spot_text(plan: Plan) -> str:
    """That a price is one of spot capacity, which may be taken back; empty where it is not."""
    cost = plan.cost
    return " on spot" if cost is not None and cost.basis == "renting" and cost.price_kind == "spot" else ""


def money_text(plan: Plan) -> str:
    """What a plan compares by: the job where it has an end, work of which nobody said how much there is by what a
    million tokens or samples cost, else the hour, or the month of what is bought.
    """
    total = None if plan.cost is None else plan.cost.compared.usd_total
    if total is not None:
        bought = purchase_text(plan)
        job = "" if plan.cost is not None and plan.cost.held else f"{show(total, 'USD')} for the job{spot_text(plan)}"
        return ", ".join(filter(None, (job, bought)))
    return work_text(plan) or price_text(plan)


def purchase_text(plan: Plan) -> str:
    """What is paid at once for hardware that is bought; else nothing."""
    buying = plan.cost.buying if plan.cost is not None and is_bought(plan) else None
    return "" if buying is None else f"{show(buying.usd_purchase, 'USD')} to buy"


def work_text(plan: Plan) -> str:
    """What a million tokens or samples cost, where plans compare by that; else nothing."""
    cost = plan.cost
    if cost is None or cost.objective is None or not cost.objective_unit.startswith("USD/million"):
        return ""
    return f"{show(cost.objective, cost.objective_unit)}{_what_for(cost)}{spot_text(plan)}{_how_known(cost)}"


def worth_text(worth: float) -> str:
    """What a verdict or a criterion is worth, times the money: "1.75x"."""
    return f"{worth:.2f}".rstrip("0").rstrip(".") + "x"


def cost_text(cost: Cost) -> str:
    """What a plan is rented for, or draws where it is owned: by the hour, the month, the job, and where it says so."""
    total = f"; {show(cost.usd_total, 'USD')} for the job" if cost.usd_total is not None else ""
    dated = f"read {cost.as_of}" if cost.as_of else "undated"
    where = ", ".join(filter(None, (cost.price_kind, cost.provider, cost.region, dated)))
    if cost.basis == "owned":
        where = "owned already: electricity only" + (
            f", its price of {cost.as_of}" if cost.as_of else ", at your price"
        )
    if cost.machines is not None and cost.machine_accelerators is not None and cost.machine_accelerators > 1:
        machines = "a machine" if cost.machines == 1 else f"{cost.machines} machines"
        where += f"; {machines} of {cost.machine_accelerators}"
    text = f"{show(cost.usd_per_hour, 'USD')} an hour, {show(cost.usd_per_month, 'USD')} a month{total} ({where})"
    if cost.spot is not None and cost.spot.usd_per_hour < cost.usd_per_hour:
        text += f"; on spot capacity {show(cost.spot.usd_per_hour, 'USD')} an hour ({cost.spot.provider})"
    return text


def comparison_text(item: Comparison) -> str:
    """Two plans by money and time, and who says that this is how to compare them."""
    title = item.kind.replace("-", " ").capitalize()
    return f"{title}: {item.text} [{', '.join(item.claims)}]"


def buying_text(cost: Cost) -> str:
    """What buying costs, and when it pays; empty where that is not known."""
    found = cost.buying
    if found is None:
        return ""
    dated = f" of {found.as_of}" if found.as_of else ", undated"
    said = "price not published, estimated" if cost.estimated else f"{found.kind} price{dated}"
    text = (
        f"buying: {show(found.usd_purchase, 'USD')} ({said}), {show(found.usd_per_month, 'USD')} a "
        f"month over {show(found.months)} months, power included"
    )
    if cost.price_kind == "purchase":
        return text + "; not rented out"
    rent = f"renting at {show(cost.usd_per_hour, 'USD')} an hour"
    if found.break_even_months is None:
        return f"{text}; never pays off against {rent}"
    return f"{text}; pays off after {show(found.break_even_months, 'months')} of use against {rent}"


def short_text(plan: Plan) -> str:
    """A plan in a few words: "2x L40S INT8"."""
    return f"{plan.label} {plan.format.upper()}{method_text(plan)}"
