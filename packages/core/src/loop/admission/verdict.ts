import type { JsonValue } from '../../message/json.ts';

/** What somebody said of a call that waits for an approval. */
export type Verdict =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly input: JsonValue }
  | { readonly type: 'reject'; readonly reason?: string };
