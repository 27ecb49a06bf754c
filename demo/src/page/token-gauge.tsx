import { estimateTokens } from '@isoloop/core/tokens';
import { isToolUIPart, type UIMessage } from '@isoloop/react';
import { useMemo } from 'react';

export interface TokenGaugeProps {
  readonly messages: readonly UIMessage[];
  /** Context window of the model, in tokens. */
  readonly window: number;
}

/** Shows an estimate of the part of the model's context window that the conversation needs. */
export function TokenGauge({ messages, window }: TokenGaugeProps) {
  const tokens = useMemo(
    () => messages.reduce((sum, message) => sum + tokensOf(message), 0),
    [messages],
  );
  const share = tokens / window;
  return (
    <span className="gauge" title="Estimated, without a tokenizer">
      <meter min={0} max={window} value={tokens} aria-label="Context used" />
      {tokens.toLocaleString('en')} of {window.toLocaleString('en')} tokens
      <span className="long">
        ({(share * 100).toFixed(share < 0.1 ? 1 : 0)} %{share > 1 && ', the oldest are left out'})
      </span>
    </span>
  );
}

type Part = UIMessage['parts'][number];

/** Tokens of the parts that have their end. An update of an answer replaces only what grows. */
const knownTokens: WeakMap<Part, number> = new WeakMap();

function tokensOf(message: UIMessage): number {
  return message.parts.reduce((sum, part) => sum + tokensOfPart(part), 0);
}

function tokensOfPart(part: Part): number {
  if ('state' in part && /streaming/.test(part.state ?? '')) return growingTokens(part);
  const tokens = knownTokens.get(part) ?? estimateTokens(textOfPart(part));
  knownTokens.set(part, tokens);
  return tokens;
}

/** Characters of a growing part that are counted. */
const sampleLength = 2_000;

/** Returns an estimate from the beginning of a part, because it grows at each update. */
function growingTokens(part: Part): number {
  const rawInput = 'rawInput' in part ? String(part.rawInput ?? '') : '';
  const text = isToolUIPart(part) ? rawInput : textOfPart(part);
  const sample = text.slice(0, sampleLength);
  return Math.round(estimateTokens(sample) * (text.length / (sample.length || 1)));
}

function textOfPart(part: Part): string {
  if (part.type === 'text' || part.type === 'reasoning') return part.text;
  if (!isToolUIPart(part)) return '';
  const output = part.state === 'output-available' ? JSON.stringify(part.output) : '';
  return JSON.stringify(part.input ?? '') + output;
}
