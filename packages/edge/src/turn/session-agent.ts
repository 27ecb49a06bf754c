import type { AgentSetup, HandlerSettings, SessionAgent } from '../handler-options.ts';

/** Calls the `agent` factory, and returns the agent with its callbacks. */
export async function makeAgent(
  { agent }: Pick<HandlerSettings, 'agent'>,
  setup: AgentSetup,
): Promise<SessionAgent> {
  const made = await agent(setup);
  return 'agent' in made ? made : { agent: made };
}
