"""The agent core: builder and runnable, loop, context, executor, observer, display stack, permissions, contracts."""
