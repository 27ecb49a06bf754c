import type { JsonValue } from '../../message/json/json.ts';

/** Answer of an approver about a tool call. */
export type Verdict =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string };
