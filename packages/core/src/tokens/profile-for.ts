import * as profiles from './profiles.ts';
import type { TokenProfile } from './token-profile.ts';

/**
 * Returns the profile for a model name. The name may have a vendor's prefix: `gpt-5-mini`,
 * `openai/gpt-5-mini`, `us.anthropic.claude-sonnet-4-20250514-v1:0`, `models/gemini-2.5-pro`.
 * Returns `generic` if the name belongs to no known family. This function bundles all profiles. To
 * bundle only one profile, import that profile instead.
 */
export function profileFor(modelId: string): TokenProfile {
  const id = modelId.toLowerCase();
  // Matches claude-3-5, claude-opus-4, claude-opus-4-20250514 and claude-opus-4.6. Does not match
  // claude-opus-4-7 and claude-opus-5.
  if (/claude\D{0,40}(?:[1-3]|4(?![.-](?:[7-9]|[1-9]\d)(?!\d)))(?!\d)/.test(id))
    return profiles.claude3;
  if (id.includes('claude')) return profiles.claude5;
  // These models have older tokenizers, for which there is no profile.
  if (/mixtral|mistral-7b|codellama|llama-?v?2/.test(id)) return profiles.generic;
  // The name of a distilled model also contains the name of its teacher, as in
  // DeepSeek-R1-Distill-Qwen. The families of such models are therefore tested first.
  if (/qwen|qwq|qvq|glm/.test(id)) return profiles.qwen3;
  if (id.includes('llama')) return profiles.llama3;
  if (id.includes('deepseek')) return profiles.deepseek3;
  if (/gemini|gemma/.test(id)) return profiles.gemma3;
  if (/[sx]tral/.test(id)) return profiles.mistral;
  if (id.includes('grok')) return profiles.grok;
  // Matches gpt-4 and gpt-4-1106. Does not match gpt-4o, gpt-4.1 and gpt-41.
  if (/gpt-?(?:3|4(?![o.]|-?[15](?!\d)))/.test(id)) return profiles.cl100k;
  return /gpt|codex|kimi|moonshot|(?:^|[/.:])o\d/.test(id) ? profiles.o200k : profiles.generic;
}
