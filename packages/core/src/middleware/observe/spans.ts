import type { Attributes, Context, ContextAPI, Span, TraceAPI, Tracer } from '@opentelemetry/api';
import { maskSecrets } from '../../error/mask-secrets.ts';

/** How the spans are created, and whether they contain messages. */
export interface Tracing {
  readonly api: { readonly trace: TraceAPI; readonly context: ContextAPI };
  readonly tracer: Tracer;
  readonly content: boolean;
}

export interface OpenSpan {
  readonly span: Span;
  /** Context in which the span is active. */
  readonly inside: Context;
}

interface SpanOptions {
  readonly kind: number;
  readonly attributes: Attributes;
  readonly parent: Context;
  /** Start, in milliseconds since 1970. Default: the tracer's clock. */
  readonly at: number | undefined;
}

// Values of enums of `@opentelemetry/api`. A type import does not load them at run time.
export const internalKind = 0;
export const clientKind = 2;
const errorStatus = 2;

export function openSpan(
  { api, tracer }: Tracing,
  name: string,
  { kind, attributes, parent, at: startTime }: SpanOptions,
): OpenSpan {
  const options = { kind, attributes, ...(startTime !== undefined && { startTime }) };
  const span = tracer.startSpan(name, options, parent);
  return { span, inside: api.trace.setSpan(parent, span) };
}

/** Marks a span as failed. Secrets in the message are masked. */
export function failSpan(
  span: Span,
  { code, message }: { readonly code: string; readonly message?: string },
): void {
  span.setAttribute('error.type', code);
  span.setStatus({
    code: errorStatus,
    ...(message !== undefined && { message: maskSecrets(message) }),
  });
}

/**
 * Calls `next()` of an iterator in the given context, because a generator runs in the context of
 * its `next()` call.
 */
export async function* within<T, R>(
  context: ContextAPI,
  inside: Context,
  steps: AsyncIterator<T, R>,
): AsyncGenerator<T, R> {
  let isOpen = true;
  try {
    for (;;) {
      isOpen = false;
      const step = await context.with(inside, () => steps.next());
      if (step.done) return step.value;
      isOpen = true;
      yield step.value;
    }
  } finally {
    if (isOpen) await context.with(inside, () => steps.return?.());
  }
}
