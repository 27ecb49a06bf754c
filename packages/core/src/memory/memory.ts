import type { Msg } from '../message/msg.ts';

/** A conversation's messages, in the order they were appended. */
export interface Memory {
  /** Rejects with `STORAGE_QUOTA` or `STORAGE_FAILED` where the store does. */
  append(messages: readonly Msg[]): Promise<void>;
  read(): Promise<readonly Msg[]>;
  /** Takes the messages with these ids out; unknown ids are ignored. */
  delete(ids: readonly string[]): Promise<void>;
  clear(): Promise<void>;
  /** Writes what `append` may still hold back (`durability: 'turn'`); called once at the end of each call, also of a failed one. */
  flush?(): Promise<void>;
  /** Grows with every record; absent where there is no log. */
  readonly sessionVersion?: number;
}
