// A lower bound of an agent: a hand-written loop over the parts that every agent of ours needs. It
// has the stream with its reader, measured replies, their assembly, messages, memory and the queue
// of tools. It has no hooks, wrappers, checks, limits, aborts and resuming. It imports modules of
// `dist` that no entry exports.
import { AgentStream } from '../../packages/core/dist/event/readers/agent-stream.js';
import { RunDriver } from '../../packages/core/dist/event/readers/run-driver.js';
import { InMemoryMemory } from '../../packages/core/dist/memory/in-memory-memory.js';
import { createMessage } from '../../packages/core/dist/message/msg.js';
import { boundedModel } from '../../packages/core/dist/model/reply/bounded-model.js';
import { ReplyAssembler } from '../../packages/core/dist/model/reply/reply-assembler.js';
import { openai } from '../../packages/core/dist/model/openai/index.js';
import { executeTool } from '../../packages/core/dist/tool/execute-tool.js';
import { ToolQueue } from '../../packages/core/dist/tool/tool-queue.js';
import { memo } from '../lib/common.mjs';
import { params } from './floor.mjs';
import { count } from './isoloop.mjs';

export const label = 'own loop over the parts of @isoloop/core';

const tools = [params[0].function];

export async function run(sc, baseURL) {
  const given = memo(sc, () => openai({ baseURL, apiKey: 'x', model: sc.model }));
  const base = { runId: crypto.randomUUID(), sessionId: crypto.randomUUID(), agentPath: ['bench'] };
  const { signal } = new AbortController();
  const loop = new Loop({ sc, base, signal, model: boundedModel(given), push });
  const driver = new RunDriver({ runId: base.runId, run: () => loop.run(), abort() {} });
  function push(events) {
    return driver.push(events);
  }
  const out = { chars: 0, deltas: 0, tools: 0 };
  for await (const event of new AgentStream(driver)) count(out, event);
  return out;
}

class Loop {
  #given;
  #memory = new InMemoryMemory();
  #messages = [];
  #seq = 0;
  #iteration = 0;

  constructor(given) {
    this.#given = given;
  }

  async run() {
    const { sc, base } = this.#given;
    this.#messages.push(createMessage('system', sc.system));
    await this.#append(createMessage('user', sc.prompt));
    while (this.#iteration < sc.maxTurns) {
      this.#iteration += 1;
      const message = await this.#ask();
      await this.#tell('post-reasoning', { message });
      const calls = message.content.filter(({ type }) => type === 'tool_use');
      if (!calls.length) return base;
      await this.#append(message);
      await this.#act(calls);
    }
    return base;
  }

  async #ask() {
    const { model, push } = this.#given;
    const messages = [...this.#messages];
    await this.#tell('pre-reasoning', { messages, tools, options: {} });
    const id = crypto.randomUUID();
    const reply = new ReplyAssembler({ messageId: id, toolUseId: (given) => given });
    const { signal } = new AbortController();
    for await (const deltas of model.stream({ messages, tools }, { signal })) {
      const at = Date.now();
      const pieces = deltas.map((delta) => reply.add(delta)).filter(Boolean);
      if (pieces.length) await push(pieces.map((piece) => this.#stamp(piece, at)));
    }
    return createMessage('assistant', reply.content({ partial: false }), { id });
  }

  async #act(calls) {
    const { sc, base, signal } = this.#given;
    const about = { ...base, signal, interruptSignal: signal, toolContext: new Map() };
    const usual = {
      run: about,
      messages: this.#messages,
      isExternal: false,
      begin: async () => true,
    };
    const queue = new ToolQueue(Infinity);
    for (const toolUse of calls) {
      await this.#tell('pre-acting', { toolUse });
      const tool = { name: toolUse.name, execute: (input) => sc.tool(input) };
      const call = { tool, toolUse, input: toolUse.input };
      queue.start(toolUse, (sink) => executeTool(call, { ...usual, ...sink }));
    }
    for (let items = await queue.next(); items; items = await queue.next()) {
      for (const { toolUse, outcome: result } of items) {
        await this.#append(createMessage('tool', [result]));
        await this.#tell('post-acting', { toolUse, result });
      }
    }
  }

  async #append(message) {
    await this.#memory.append([message]);
    this.#messages.push(message);
  }

  #tell(type, fields) {
    return this.#given.push([this.#stamp({ type, ...fields }, Date.now())]);
  }

  #stamp(event, at) {
    this.#seq += 1;
    return Object.assign(event, this.#given.base, {
      seq: this.#seq,
      iteration: this.#iteration,
      at,
    });
  }
}
