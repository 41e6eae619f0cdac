"""Seven ready-made tools with which an agent asks and shows things; each has a renderer of its own name.

===============  ========  ======================================================================
renderer         blocking  answer that a screen sends
===============  ========  ======================================================================
confirm_action   yes       true or false
collect_form     yes       an object: field name → value; fields left open are missing or null
ask_preference   yes       ``value`` of an option
text_input       yes       a string
approve_plan     yes       true or false, or ``{"approved": true, "comment": "…"}``
suggest_options  on        ``value`` of an option or a list of them, if the slot is blocking; otherwise the chip's
                 request   value is what the user says next
show_info_card   no        none
===============  ========  ======================================================================

Null is a refusal. The slots' inputs are the arguments in ``arguments``. An answer of another shape is asked for again,
with ``error`` in the slot's input. ``agents.questions`` asks the same questions aloud.
"""
