"""What only a browser can do: move the keyboard's focus to what a step or a button shows, and copy the address."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_FOCUS = """
const FIELDS = 'input[type="radio"]:checked, input[type="radio"], input[type="text"], input[role="combobox"], textarea'
export default function (component) {
  const { visit, box } = component.data
  const host = document.documentElement
  if (!host.dataset.whygpuPopovers) {
    host.dataset.whygpuPopovers = "watched"
    document.addEventListener("keydown", (event) => {
      // Streamlit puts what opens at the end of the page, which the keyboard reaches only past all that is between.
      const button = event.target.closest && event.target.closest('[data-testid="stPopover"] button')
      if (!button || (event.key !== "Enter" && event.key !== " ")) return
      const until = performance.now() + 1500
      const enter = () => {
        const body = document.querySelector('[data-testid="stPopoverBody"]')
        const field = body && body.querySelector(FIELDS)
        if (field && !body.contains(document.activeElement)) field.focus()
        if (performance.now() < until) setTimeout(enter, 100)  // what it holds is drawn several times
      }
      enter()
    }, true)
  }
  if (host.dataset.whygpuVisit === String(visit)) return
  const first = host.dataset.whygpuVisit === undefined
  host.dataset.whygpuVisit = String(visit)
  const until = performance.now() + 4000
  const look = () => {
    const step = document.querySelector(`.st-key-${box}`)
    const heading = step && step.querySelector("h1")
    const form = step && step.querySelector('[data-testid="stForm"]')
    const first_field = form && form.querySelector(FIELDS)
    const field = first_field && first_field.checkVisibility() ? first_field : null  // one in a closed part is hidden
    const ready = heading && (field || !step.querySelector(".st-key-fields"))
    if (!ready) {
      if (performance.now() < until) requestAnimationFrame(look)
      return
    }
    if (form) form.addEventListener("keydown", (event) => {
      // Streamlit submits on Enter from a text field, but not from a group of choices.
      if (event.key !== "Enter" || event.target.type !== "radio") return
      event.preventDefault()
      form.querySelector(".st-key-next button").click()
    })
    if (first) return
    heading.scrollIntoView({ block: "center" })
    const target = field || heading
    if (target === heading) { heading.tabIndex = -1; heading.style.outline = "none" }
    target.focus({ preventScroll: true })
  }
  look()
}
"""

_COPY = """
export default function (component) {
  const { parentElement } = component
  const button = parentElement.querySelector("button")
  const said = parentElement.querySelector("span")
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(window.location.href)
      said.textContent = "Copied."
    } catch {
      said.textContent = "Not allowed here: copy the address of this page."
    }
  }
}
"""

_COPY_STYLE = """
button {
  font: inherit;
  font-size: 0.875rem;
  color: var(--st-text-color);
  background: var(--st-background-color);
  border: 1px solid var(--st-border-color);
  border-radius: var(--st-button-radius);
  padding: 0.45rem 0.9rem;
  min-height: 44px;
  cursor: pointer;
}
button:hover, button:focus-visible { border-color: var(--st-primary-color); color: var(--st-primary-color); }
span { margin-left: 0.75rem; color: var(--st-text-color); }
"""


@lru_cache(maxsize=1)
def _focus() -> ComponentRenderer:
    return st.components.v2.component("whygpu_focus", js=_FOCUS)


@lru_cache(maxsize=1)
def _copy() -> ComponentRenderer:
    markup = '<button type="button">Copy the link</button><span role="status"></span>'
    return st.components.v2.component("whygpu_copy", html=markup, css=_COPY_STYLE, js=_COPY)


def focus(visit: int, box: str) -> None:
    """After a step, put the keyboard's focus on the first field, else the heading, of the container keyed ``box``; and
    on the first field of what the keyboard opens.
    """
    _focus()(key="focus", data={"visit": visit, "box": box}, height=1)


def copy_link() -> None:
    """A button that copies the page's address."""
    _copy()(key="copy-link")
