import { getToolName } from '@isoloop/react';
import { useEffect, useRef, useState, type FormEvent } from 'react';
import type { ToolPart } from './message-parts.ts';

const states: Partial<Record<ToolPart['state'], string>> = {
  'input-streaming': 'being called',
  'input-available': 'running',
  'output-available': 'done',
  'output-error': 'failed',
  'output-denied': 'denied',
  'approval-requested': 'waits for you',
  'approval-responded': 'running',
};

export interface ToolCardProps {
  readonly part: ToolPart;
  /** Allows or denies a tool call that waits for approval. Absent if nobody can decide it now. */
  readonly onAllow: (() => void) | undefined;
  readonly onDeny: (() => void) | undefined;
  /** Allows the tool call with other arguments. */
  readonly onEdit: ((input: unknown) => void) | undefined;
}

export function ToolCard({ part, onAllow, onDeny, onEdit }: ToolCardProps) {
  const { state } = part;
  const toolName = getToolName(part);
  const input = tryParse(part.input);
  const output = outputOf(part);
  const word =
    state === 'approval-requested' && !onAllow ? 'not decided' : (states[state] ?? state);
  return (
    <div
      className={`tool ${onAllow ? 'undecided' : state}`}
      role="group"
      aria-label={`Tool ${toolName}, ${word}`}
    >
      <div>
        <span className="tool-name">
          <span className="dot" aria-hidden="true" />
          <code>{toolName}</code>
        </span>
        <span dir="auto">
          <Input input={input} />
        </span>
        {state !== 'output-available' && <span className="tool-state">{word}</span>}
      </div>
      {state === 'approval-requested' && onAllow && (
        <Decision input={input} onAllow={onAllow} onDeny={onDeny} onEdit={onEdit} />
      )}
      {output !== undefined && (
        <div>
          <span className="tool-name">
            <span aria-hidden="true">→</span>
            <span className="visually-hidden">Result</span>
          </span>
          <span dir="auto">{readable(withoutRepeats(output, input))}</span>
        </div>
      )}
    </div>
  );
}

interface DecisionProps extends Pick<ToolCardProps, 'onDeny' | 'onEdit'> {
  readonly input: unknown;
  readonly onAllow: () => void;
}

/** The buttons that decide about a call, or the form that changes its arguments. */
function Decision({ input, onAllow, onDeny, onEdit }: DecisionProps) {
  const [isEditing, setIsEditing] = useState(false);
  const canEdit = onEdit !== undefined && isRecord(input);
  if (canEdit && isEditing)
    return <EditForm input={input} onEdit={onEdit} onCancel={() => setIsEditing(false)} />;
  return (
    <div className="decision">
      <button type="button" className="primary" onClick={onAllow}>
        Allow
      </button>
      <button type="button" onClick={onDeny}>
        Deny
      </button>
      {canEdit && (
        <button type="button" onClick={() => setIsEditing(true)}>
          Edit
        </button>
      )}
    </div>
  );
}

interface EditFormProps {
  readonly input: Readonly<Record<string, unknown>>;
  readonly onEdit: (input: unknown) => void;
  readonly onCancel: () => void;
}

/** One field for each argument of the call that is a text or a number. */
function EditForm({ input, onEdit, onCancel }: EditFormProps) {
  const form = useRef<HTMLFormElement>(null);
  // The form opens at the lower end of the messages, where it would be out of view.
  useEffect(() => {
    // In newer browsers this returns a promise, which is no clean-up function.
    void form.current?.scrollIntoView({ block: 'nearest' });
    // The button that opened the form has disappeared.
    form.current?.querySelector('input')?.focus();
  }, []);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const changed = Object.entries(input).map(([name, value]) => {
      const text = given.get(name);
      if (text === null) return [name, value];
      return [name, typeof value === 'number' ? Number(text) : text];
    });
    onEdit(Object.fromEntries(changed));
  };
  const fields = Object.entries(input).filter(([, value]) => !isRecord(value));
  return (
    <form ref={form} className="edit" onSubmit={submit}>
      {fields.map(([name, value]) => (
        <label key={name}>
          {name}
          <input
            name={name}
            type={typeof value === 'number' ? 'number' : 'text'}
            defaultValue={String(value)}
          />
        </label>
      ))}
      <button type="submit" className="primary">
        Allow with changes
      </button>
      <button type="button" onClick={onCancel}>
        Back
      </button>
    </form>
  );
}

function outputOf(part: ToolPart): unknown {
  // The result of a to-do list is the same list.
  if (getToolName(part) === 'write_todos' && part.state === 'output-available') return undefined;
  if (part.state === 'output-error') return part.errorText;
  if (part.state === 'output-denied') return part.approval.reason;
  return part.state === 'output-available' ? tryParse(part.output) : undefined;
}

/**
 * Formats a value for reading. An object becomes `city: Tokyo, time: 14:03`; an object with one
 * field becomes the field's value.
 */
function readable(value: unknown): string {
  if (Array.isArray(value)) return value.map(readable).join('; ') || 'none';
  if (!isRecord(value)) return String(value ?? '');
  const fields = Object.entries(value);
  if (fields.length === 1) return readable(fields[0]![1]);
  return fields
    .map(([key, field]) => `${key}: ${isRecord(field) ? `(${readable(field)})` : readable(field)}`)
    .join(', ');
}

/** Removes the output's fields that repeat the input. */
function withoutRepeats(output: unknown, input: unknown): unknown {
  if (!isRecord(output) || !isRecord(input)) return output;
  const fields = Object.entries(output).filter(([key, value]) => input[key] !== value);
  return fields.length ? Object.fromEntries(fields) : output;
}

function Input({ input }: { readonly input: unknown }) {
  return isTodos(input) ? <Todos {...input} /> : readable(input);
}

interface TodosProps {
  readonly todos: readonly { readonly content: string; readonly status: string }[];
}

const marksOfTodos: Readonly<Record<string, string>> = { completed: '☑', in_progress: '▸' };

function Todos({ todos }: TodosProps) {
  return (
    <span className="todos" role="list">
      {todos.map(({ content, status }, index) => (
        <span key={index} role="listitem" className={status}>
          <span aria-hidden="true">{marksOfTodos[status] ?? '☐'}</span> {content}
          <span className="visually-hidden">, {status.replace('_', ' ')}</span>
        </span>
      ))}
    </span>
  );
}

function isTodos(value: unknown): value is TodosProps {
  return isRecord(value) && Array.isArray(value['todos']) && value['todos'].every(isTodo);
}

function isTodo(value: unknown): boolean {
  return (
    isRecord(value) && typeof value['content'] === 'string' && typeof value['status'] === 'string'
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function tryParse(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
