import type { IncompleteReason } from '@isoloop/core/model';
import { textOf } from '@isoloop/core';
import type { InspectedRun, InspectedStep, StepOf } from './inspected-run.ts';
import { briefly, count, duration, plural, size } from './shown-text.ts';

/** A step as a row of the timeline: a name, some words about it, and figures for its columns. */
interface StepRow {
  readonly name: string;
  readonly about: string;
  readonly isBad: boolean;
  readonly isRunning: boolean;
  /** Names of the middleware that changed the step. */
  readonly changedBy: readonly string[];
  readonly tokens: string;
  readonly bytes: string;
  readonly time: string;
  /** Begin and width of the bar, as shares of the run. */
  readonly bar: { readonly start: number; readonly share: number };
}

export function stepRow(step: InspectedStep, run: InspectedRun): StepRow {
  const { startedAt, endedAt, bytes, changes } = step;
  const runEnd = run.endedAt ?? Math.max(...run.steps.map((one) => one.endedAt ?? one.startedAt));
  const runMs = Math.max(1, runEnd - run.startedAt);
  const end = endedAt ?? runEnd;
  const barStart = Math.min(1, Math.max(0, (startedAt - run.startedAt) / runMs));
  return {
    ...wordsOf(step),
    isBad: isBad(step),
    isRunning: endedAt === undefined,
    changedBy: [...new Set(changes.map(({ middleware }) => middleware))],
    tokens: tokensOf(step),
    bytes: size(bytes),
    time: timeOf(step),
    bar: { start: barStart, share: Math.min(1 - barStart, Math.max(0, (end - startedAt) / runMs)) },
  };
}

/** What takes no time, such as an input, has no figure. */
function timeOf({ kind, startedAt, endedAt }: InspectedStep): string {
  if (endedAt === undefined) return '…';
  return kind === 'reason' || kind === 'act' ? duration(endedAt - startedAt) : '';
}

function tokensOf(step: InspectedStep): string {
  if (step.kind === 'fit') return count(step.after);
  if (step.kind !== 'reason' || !step.usage) return '';
  return count(step.usage.inputTokens + step.usage.outputTokens);
}

function isBad(step: InspectedStep): boolean {
  if (step.kind === 'error') return true;
  if (step.kind === 'reason') return step.incomplete !== undefined;
  return step.kind === 'act' && /error|denied|interrupted/.test(step.result?.state ?? '');
}

function wordsOf(step: InspectedStep): Pick<StepRow, 'name' | 'about'> {
  switch (step.kind) {
    case 'input':
      return { name: 'Input', about: inputWords(step.messages) };
    case 'reason': {
      const name = step.isSummary ? 'Last answer' : `Reason ${step.iteration}`;
      const { calls, text, thinking, incomplete } = step;
      const summary = calls.length ? `calls ${calls.join(', ')}` : briefly(text || thinking);
      return { name, about: incomplete ? `${incompleteWords(incomplete)} ${summary}` : summary };
    }
    case 'act':
      return { name: step.call.name, about: step.problem ?? callWords(step) };
    case 'fit':
      return {
        name: 'Context fitted',
        about: `${plural(step.removed, 'message')} left out, ${count(step.before)} → ${count(step.after)} tokens`,
      };
    case 'wait':
      return {
        name: 'Suspended',
        about: step.pending.map(({ name, kind }) => `${name} waits: ${kind}`).join(', '),
      };
    case 'custom':
      return { name: `Ended: ${step.reason}`, about: briefly(textOf(step.message)) };
    case 'error':
      return { name: step.error.code, about: briefly(step.error.message) };
  }
}

function inputWords(messages: Extract<InspectedStep, { kind: 'input' }>['messages']): string {
  if (typeof messages === 'number') return plural(messages, 'message');
  return briefly(messages.map(textOf).join(' '));
}

function callWords({ call, result, progress }: StepOf<'act'>): string {
  const input = call.input === undefined ? '' : inOneLine(call.input);
  const output = result ? resultWords(result) : progress.length > 0 && inOneLine(progress.at(-1));
  return [input, output].filter(Boolean).join(' → ');
}

function resultWords({ state, output }: NonNullable<StepOf<'act'>['result']>): string {
  const text = output === undefined ? '' : inOneLine(output);
  if (state === 'success') return text || state;
  // The text of an error often begins with this word.
  return text.toLowerCase().startsWith(state) || !text ? text || state : `${state}: ${text}`;
}

/** Returns a text, or JSON without the outer signs that only programs need. */
function inOneLine(value: unknown): string {
  const content = typeof value === 'string' ? parseOrKeep(value) : value;
  if (Object(content) !== content) return briefly(String(content));
  if (Array.isArray(content)) return briefly(JSON.stringify(content));
  const fields = Object.entries(content as object).map(([key, field]) => {
    return `${key}: ${typeof field === 'string' ? field : JSON.stringify(field)}`;
  });
  return briefly(fields.join(', '));
}

/** Returns the value of a text that is JSON, or else the text. */
function parseOrKeep(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the words for how a run ended, or that it runs. */
export function endWords({ reason, incomplete, endedAt, origin }: InspectedRun): string {
  if (reason === 'stop') return incomplete ? incompleteWords(incomplete) : 'answered';
  if (reason) return reason;
  if (origin === 'log' || endedAt !== undefined) return 'cut off';
  return 'running';
}

function incompleteWords(incomplete: IncompleteReason): string {
  return `incomplete (${incomplete})`;
}

/** Returns the question of a run, or what it continues. */
export function runTitle(run: InspectedRun): string {
  const input = run.steps.find((step) => step.kind === 'input');
  const agent = run.agentPath.length > 1 ? `${run.agentPath.at(-1)}: ` : '';
  if (input?.kind === 'input' && typeof input.messages !== 'number')
    return agent + inputWords(input.messages);
  return `${agent}${run.continues ? 'Continued' : 'Agent call'}`;
}
