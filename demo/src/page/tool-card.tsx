import type { DynamicToolUIPart } from 'ai';

const states: Partial<Record<DynamicToolUIPart['state'], string>> = {
  'input-streaming': 'being called',
  'input-available': 'running',
  'output-available': 'done',
  'output-error': 'failed',
};

export function ToolCard({ part }: { readonly part: DynamicToolUIPart }) {
  const { toolName, state, input } = part;
  const output = state === 'output-available' ? readable(part.output) : state === 'output-error' ? part.errorText : undefined;
  return (
    <div className={`tool ${state}`} role="group" aria-label={`Tool ${toolName}, ${states[state] ?? state}`}>
      <div className="tool-head">
        <code>{toolName}</code>
        <span className="tool-state">{states[state] ?? state}</span>
      </div>
      <dl>
        <dt>in</dt>
        <dd>{readable(input)}</dd>
        {output !== undefined && (
          <>
            <dt>out</dt>
            <dd>{output}</dd>
          </>
        )}
      </dl>
    </div>
  );
}

/** `city: Tokyo, time: 14:03`: an object's fields without its punctuation; a text as it is. */
function readable(value: unknown): string {
  const parsed: unknown = typeof value === 'string' ? tryParse(value) : value;
  if (typeof parsed !== 'object' || parsed === null) return String(parsed ?? '');
  if (Array.isArray(parsed)) return parsed.map((one) => `[${readable(one)}]`).join(' ') || 'none';
  return Object.entries(parsed)
    .map(([key, field]) => `${key}: ${typeof field === 'object' ? readable(field) : String(field)}`)
    .join(', ');
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
