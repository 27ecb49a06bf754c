import type { ContentBlock } from './content-block.ts';
import type { JsonObject } from './json/json.ts';

/** Who wrote a message. A `tool` message has the results of tool calls. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** One message of a conversation: plain JSON, never changed after its creation. */
export interface Msg {
  /** Unique within its session. */
  readonly id: string;
  readonly role: Role;
  /** Name of the speaker, if several speakers share a role. */
  readonly name?: string;
  readonly content: readonly ContentBlock[];
  readonly metadata?: JsonObject;
  /** Time of creation: ISO 8601, UTC. */
  readonly createdAt: string;
}
