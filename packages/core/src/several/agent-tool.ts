import { AgentError, errorText } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import {
  array,
  either,
  func,
  infinity,
  nonNegative,
  oneOf,
  optional,
  string,
  whole,
} from '../error/options/kinds.ts';
import type { FieldTable, OptionTable } from '../error/options/option-table.ts';
import { userMessage, textOf, toolUseIn, type MessageContent, type Msg } from '../message/msg.ts';
import { isObjectOrArray } from '../message/json.ts';
import { metadataOf } from '../message/metadata.ts';
import { resumptionOf } from '../memory/log/resumption.ts';
import { openToolUses } from '../message/conversation/tool-pairs.ts';
import { objectInput, type Validation } from '../schema/schema.ts';
import { tool, type ReplayPolicy, type Tool, type ToolContext } from '../tool/tool.ts';
import { agentToolName } from '../tool/name-pattern.ts';
import type { AgentInput } from '../event/agent-input.ts';
import type { AgentResult } from '../event/agent-result.ts';
import { waitsForApproval, type PendingCall } from '../event/pending-call.ts';
import { provide, parentPath, parentRuns, runsAboveChild } from '../tool/context-token.ts';
import type { Suspension } from '../tool/tool-call.ts';
import { mayAskForApproval } from '../approval/approving-agent.ts';
import type { Agent } from '../agent/agent.ts';

/** The part of an agent that `agentTool` uses. */
export type ChildAgent = Pick<Agent, 'name' | 'sessionId' | 'messages' | 'stream'> &
  Partial<Pick<Agent, 'interrupt'>>;

/** The session of a child agent, for the factory that creates it. */
interface ChildSession {
  /**
   * `<user>:<session>:<call>`: the `userId` and the session id of the parent, and the id of the
   * tool call that opened the session. Each is encoded with `encodeURIComponent`. Without a
   * `userId`, it is `<session>:<call>`. Two users with one session id then share the child's log.
   * So give the parent a `userId`, or session ids that no two users share. Use it as the child's
   * `sessionId` and as the session id of its log.
   */
  readonly sessionId: string;
}

/**
 * Function that creates the child agent for a new session, or for an earlier session whose log has
 * to be read again.
 */
export type ChildFactory = (session: ChildSession) => ChildAgent | Promise<ChildAgent>;

/** How a model sees an agent that is a tool, and how long a call of it may take. */
export interface AgentToolOptions {
  /**
   * Name of the child agent. The name of the tool is `call_<name>`, shortened to 64 characters.
   * Default: the agent's name. Required with a factory.
   */
  readonly name?: string;
  /** Purpose of the child agent. The model reads it to choose the tool. */
  readonly description: string;
  /** Time limit of one tool call, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** The toolkit groups of the tool. */
  readonly group?: string | readonly string[];
  /**
   * Whether a tool call that may have started runs again after a crash. Default: `never`. Set
   * `safe` if the logs of the children are stored. The child then continues from its own log.
   */
  readonly replay?: ReplayPolicy;
  /**
   * Maximum number of agents in a chain of agent tools, from the agent that the program calls to
   * the child. A longer chain fails the outermost agent call with `TOOL_ERROR`. The error's message
   * and its `details.agentPath` name the agents. An agent in a worker or on a server begins a chain
   * of its own. Default: 8.
   */
  readonly maxDepth?: number;
}

const childAgent: FieldTable<ChildAgent> = { name: string, stream: func, messages: func };

const agentToolOptions: OptionTable<AgentToolOptions> = {
  name: optional(string),
  description: string,
  timeoutMs: optional(nonNegative),
  group: optional(either(string, array)),
  replay: optional(oneOf('safe', 'ask', 'never')),
  maxDepth: optional(either(whole, infinity)),
};

interface ChildInput {
  readonly message: string;
  readonly session_id?: string | null;
}

interface Child {
  readonly id: string;
  readonly agent: ChildAgent;
  /** Settles when all earlier calls of the child have ended. The next call waits for it. */
  earlierCalls: Promise<unknown>;
}

/**
 * Returns a tool that calls another agent, the child. The model gives a `message`. Every answer
 * begins with a `session_id`. To continue an earlier session, the model adds its `session_id`. A
 * factory creates one child per session. An agent instead of a factory has only one session.
 *
 * The child's events go to the readers of the parent's run. The parent's signal stops the child,
 * and an interrupt of the parent interrupts the child. If the child fails, the tool call gets an
 * error result. If the child suspends, the parent suspends, too. An approval or rejection of the
 * parent's tool call then applies to all pending tool calls of the child. A result applies to the
 * child's only pending tool call. The child counts its own usage: its limits and its `spendCap()`
 * apply to it, those of the parent do not. Throws `CONFIGURATION` if the name has no ASCII letters
 * or digits. Source: AgentScope, `SubAgentTool`.
 */
export function agentTool(agent: ChildAgent | ChildFactory, options: AgentToolOptions): Tool {
  checkOptions('agentTool()', options, agentToolOptions);
  if (typeof agent !== 'function') checkFields('agentTool(): the agent', agent, childAgent);
  const { name = typeof agent === 'function' ? '' : agent.name, maxDepth = 8, ...rest } = options;
  const toolName = agentToolName('call_', name, 'name');
  const children = new Map<string, Child>();
  if (typeof agent !== 'function') keepChild(children, agent.sessionId, agent);
  const plainTool = tool({
    ...rest,
    name: toolName,
    input: objectInput(childProperties, ['message']),
    async execute(input, context) {
      const { message, session_id: sessionId } = input as ChildInput;
      checkDepth(context, name, maxDepth);
      const { toolUseId } = context;
      const id = sessionId || (typeof agent === 'function' ? toolUseId : agent.sessionId);
      let child = children.get(id);
      if (!child) child = keepChild(children, id, await createChild(agent, toolName, id, context));
      const answer = child.earlierCalls.then(() => takeTurn(child, message, context));
      child.earlierCalls = answer.catch(() => {});
      return answer;
    },
  });
  const { execute } = plainTool;
  return {
    ...plainTool,
    input: { ...plainTool.input, validate: validateInput },
    takesDecisions: true,
    answerIn: withoutSessionId,
    ...(isLocal(agent) && { mayNeedApproval: () => mayAskForApproval(agent) }),
    // A fork opens its own children.
    fork() {
      const copy = agentTool(agent, options);
      const isOwn = this.execute === execute;
      return { ...copy, ...this, ...(isOwn && { execute: copy.execute! }), fork: copy.fork! };
    },
  };
}

/**
 * Throws `TOOL_ERROR`, which ends the agent call, if the child would make the chain of agents too
 * long.
 */
function checkDepth({ agentPath }: ToolContext, name: string, maxDepth: number): void {
  if (agentPath.length < maxDepth) return;
  const path = [...agentPath, name];
  throw new AgentError(
    'TOOL_ERROR',
    `Agents call each other in a chain of more than ${maxDepth}: ${path.join(' > ')}. ` +
      'If this is intended, raise `maxDepth` of agentTool().',
    { details: { agentPath: path, maxDepth } },
  );
}

/** Returns whether the chain of agents below a tool call is too long. */
function isTooDeep(error: unknown): boolean {
  return (
    AgentError.is(error) && error.code === 'TOOL_ERROR' && error.details?.['maxDepth'] !== undefined
  );
}

/**
 * Returns whether `agent` runs in this program. It is then not a factory, and not an agent in a
 * worker or on a server.
 */
function isLocal(
  agent: ChildAgent | ChildFactory,
): agent is ChildAgent & Pick<Agent, 'tools' | 'use'> {
  return 'tools' in agent && 'use' in agent;
}

/** Keeps a child, unless another tool call kept one for the session meanwhile. */
function keepChild(children: Map<string, Child>, id: string, agent: ChildAgent): Child {
  const child = children.get(id) ?? { id, agent, earlierCalls: Promise.resolve() };
  children.set(id, child);
  return child;
}

/**
 * Creates the child of a session: a new one, or one that another process began. The id of an
 * earlier session is that of an earlier call of this tool.
 */
async function createChild(
  factory: ChildAgent | ChildFactory,
  toolName: string,
  id: string,
  { toolUseId, sessionId, userId, messages }: ToolContext,
): Promise<ChildAgent> {
  const isNew = id === toolUseId;
  const isKnown = isNew || messages.some((message) => hasCall(message, id, toolName));
  if (typeof factory === 'function' && isKnown) {
    const ids = userId === undefined ? [sessionId, id] : [userId, sessionId, id];
    const agent = await factory({ sessionId: ids.map(encodeURIComponent).join(':') });
    checkFields(`${toolName}: the value from its factory`, agent, childAgent);
    if (isNew || (await agent.messages()).length) return agent;
  }
  const message = `There is no session "${id}" of ${toolName}.`;
  throw new Error(`${message} Leave session_id out to begin a new one.`);
}

/**
 * Returns whether a message made this tool call. A client may have chosen the ids of imported ones.
 */
function hasCall(message: Msg, id: string, name: string): boolean {
  return !metadataOf(message).imported && toolUseIn(message, id)?.name === name;
}

/**
 * Runs one turn of the child: a new turn, or the rest of a turn that this tool call began earlier.
 */
async function takeTurn({ id, agent }: Child, text: string, context: ToolContext): Promise<string> {
  const { signal, idempotencyKey, interruptSignal } = context;
  signal.throwIfAborted();
  if (interruptSignal?.aborted)
    throw new Error(`${agent.name} has not begun: its caller was interrupted.`);
  const log = await agent.messages();
  const hasBegun = log.some((one) => one.id === idempotencyKey);
  const { type } = resumptionOf({ messages: log, openRunId: undefined });
  // If somebody interrupted the child, this tool call must not continue its turn.
  if (hasBegun && (type === 'nothing' || type === 'interrupted'))
    return answerText(id, textOf(log.at(-1)!));
  const input = hasBegun ? decisionsIn(log, context) : userMessage(text, { id: idempotencyKey });
  const failure = (why: unknown, cause?: unknown): Error =>
    new Error(`${agent.name} failed: ${String(why)} (session_id: ${id})`, { cause });
  const result = await runChild(agent, input, context).catch((error: unknown) => {
    // An agent that calls itself would try again at each level.
    if (isTooDeep(error)) throw error;
    throw failure(errorText(error), error);
  });
  if (result.reason === 'suspended') throw suspension(agent, result.pending);
  if (result.reason === 'error') throw failure(result.error?.message);
  return answerText(id, textOfResult(result));
}

/** Returns the child's answer. The caller's model has to know that an answer is not whole. */
function textOfResult({ text, reason, incomplete }: AgentResult): string {
  const answer = text || `(no text; it ended with: ${reason})`;
  return incomplete ? `${answer}\n\n(incomplete answer: ${incomplete})` : answer;
}

/**
 * Returns the decision about the parent's tool call as decisions about the child's open tool calls.
 */
function decisionsIn(
  log: readonly Msg[],
  { decision, suspend }: ToolContext,
): AgentInput | undefined {
  const openCalls = openToolUses(log);
  if (!decision || !openCalls.length) return undefined;
  if (decision.type === 'edit')
    suspend('A call of an agent tool cannot be edited. Approve it, reject it, or send its result.');
  if (decision.type === 'result' && openCalls.length > 1)
    suspend(`One result does not answer ${openCalls.length} calls. Approve or reject.`);
  return openCalls.map(({ id: toolUseId, name }) => ({ ...decision, toolUseId, name }));
}

async function runChild(
  agent: ChildAgent,
  input: AgentInput | undefined,
  context: ToolContext,
): Promise<AgentResult> {
  const { signal, interruptSignal, agentPath, forward } = context;
  // An agent in a worker or on a server takes no values from here.
  const toolContext = isLocal(agent) && [
    provide(parentRuns, runsAboveChild(context)),
    provide(parentPath, agentPath),
  ];
  const stream = agent.stream(input, { signal, ...(toolContext && { toolContext }) });
  // Before its first events, the agent may be running another call.
  let isRunning = false;
  const passOn = (): void => {
    if (isRunning) agent.interrupt?.();
  };
  interruptSignal?.addEventListener('abort', passOn);
  try {
    for await (const batch of stream.batches()) {
      const isFirst = !isRunning;
      isRunning = true;
      if (isFirst && interruptSignal?.aborted) passOn();
      forward(batch.map((event) => ({ ...event, agentPath: [...agentPath, ...event.agentPath] })));
    }
    return await stream.result;
  } finally {
    interruptSignal?.removeEventListener('abort', passOn);
  }
}

/** Returns the suspension of the parent's tool call, which waits for the same as the child. */
function suspension({ name }: ChildAgent, pending: readonly PendingCall[]): Suspension {
  const reason = `${name} waits: ${pending.map(toText).join('; ') || 'paused'}`;
  const forApproval = pending.length > 0 && pending.every(waitsForApproval);
  return { suspended: true, reason, ...(forApproval && { forApproval }) };
}

function answerText(id: string, text: string): string {
  return `session_id: ${id}\n\n${text}`;
}

function withoutSessionId(output: MessageContent): MessageContent {
  return typeof output === 'string' ? output.replace(/^session_id: .*\n\n/, '') : output;
}

function toText({ kind, name, reason }: PendingCall): string {
  return `${kind} of ${name}${reason === undefined ? '' : ` (${reason})`}`;
}

const sessionHint = 'The session_id of an earlier answer, to continue that conversation.';

/** What the model fills in, as JSON Schema. */
const childProperties = {
  message: { type: 'string', description: 'What to tell the agent.' },
  session_id: { type: 'string', description: `${sessionHint} Omit it to begin a new one.` },
};

function validateInput(value: unknown): Validation<unknown> {
  const { message, session_id: id = null } = isObjectOrArray(value) ? value : {};
  const issues: string[] = [];
  const isBlank = typeof message !== 'string' || !message.trim();
  if (isBlank) issues.push('message: a string that is not blank');
  if (id !== null && typeof id !== 'string') issues.push('session_id: a text');
  return issues.length ? { ok: false, issues } : { ok: true, value };
}
