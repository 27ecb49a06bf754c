import type { AgentSetup, HandlerSettings, SessionAgent } from '../handler-options.ts';

/** The agent that the factory makes, and what belongs to it. */
export async function makeAgent(
  { agent }: Pick<HandlerSettings, 'agent'>,
  setup: AgentSetup,
): Promise<SessionAgent> {
  const made = await agent(setup);
  return 'agent' in made ? made : { agent: made };
}
