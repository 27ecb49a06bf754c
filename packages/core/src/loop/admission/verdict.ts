import type { JsonValue } from '../../message/json.ts';

/** An approver's answer about a call that waits for it. */
export type Verdict =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string };
