import type { IsoloopInspector } from '@isoloop/inspector';
import type { Connection } from '../../../demo/src/page/test-connection.ts';
import type { ChosenModel } from './chosen-model.ts';
import { eventLine } from './event-lines.ts';
import { ExampleSource } from './example-source.ts';
import { liveOrigin, openFrame, readLiveFile, type ExampleFrame } from './example-frame.ts';
import { labels } from './labels.ts';
import type { LiveMessage } from './live-message.ts';
import type { LiveProgram } from './live-program.ts';
import type { ModelFields } from './model-fields.tsx';

/** Maximum time of a run. A longer one is stopped. */
const runLimitMs = 60_000;

/** The fields with which a reader changes an example. */
interface Editor {
  readonly node: HTMLElement;
  readonly code: HTMLTextAreaElement;
  readonly setup: HTMLTextAreaElement;
  readonly model: ModelFields;
}

/**
 * A code block that runs: `<live-example name="…">` around the block. Run starts it, and Edit turns
 * the code and its setup into text fields. The code runs in a frame of another origin.
 */
class LiveExample extends HTMLElement {
  static runs = 0;
  #program: LiveProgram | undefined;
  #frame: ExampleFrame | undefined;
  #run = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #bar = document.createElement('div');
  readonly #runButton = button(labels.run);
  readonly #editButton = button(labels.edit);
  readonly #resetButton = button(labels.reset);
  readonly #inspectButton = button(labels.inspect);
  readonly #status = document.createElement('span');
  readonly #output = document.createElement('ol');
  #source = new ExampleSource();
  #inspector: IsoloopInspector | undefined;
  #editor: Editor | undefined;

  connectedCallback(): void {
    if (this.#bar.isConnected) return;
    this.#bar.className = 'live-bar not-content';
    this.#status.setAttribute('role', 'status');
    this.#output.className = 'live-output not-content';
    this.#output.tabIndex = 0;
    this.#output.setAttribute('aria-label', labels.output);
    this.#output.hidden = true;
    this.#resetButton.hidden = true;
    this.#inspectButton.hidden = true;
    this.#bar.append(
      this.#runButton,
      this.#editButton,
      this.#resetButton,
      this.#inspectButton,
      this.#status,
    );
    this.append(this.#bar, this.#output);
    this.#runButton.addEventListener('click', () => void this.#toggle());
    this.#editButton.addEventListener('click', () => void this.#edit());
    this.#resetButton.addEventListener('click', () => this.#reset());
    this.#inspectButton.addEventListener('click', () => void this.#inspect());
    void liveOrigin().then((origin) => {
      if (origin === undefined) this.#bar.replaceChildren(labels.readOnly);
    });
  }

  disconnectedCallback(): void {
    clearTimeout(this.#timer);
  }

  async #load(): Promise<LiveProgram> {
    if (this.#program) return this.#program;
    const program = (await readLiveFile(
      `programs/${this.getAttribute('name')}.json`,
    )) as LiveProgram;
    this.#program = program;
    return program;
  }

  async #toggle(): Promise<void> {
    if (this.#run !== 0) {
      this.#end(labels.stopped);
      return;
    }
    this.#run = LiveExample.runs += 1;
    const run = this.#run;
    this.#runButton.textContent = labels.stop;
    this.#status.textContent = labels.starting;
    this.#output.replaceChildren();
    this.#source = new ExampleSource();
    this.#hideInspector();
    try {
      const program = await this.#load();
      const model = this.#editor?.model.chosen();
      const frame = await this.#frameFor(serverOf(model));
      if (this.#run !== run) return;
      const code = this.#editor?.code.value ?? program.code;
      const setup = this.#editor?.setup.value ?? program.setup;
      this.#status.textContent = labels.running;
      this.#timer = setTimeout(() => this.#end(labels.tooLong), runLimitMs);
      frame.post({
        type: 'run',
        id: run,
        program: { code, setup, imports: program.imports },
        model,
      });
    } catch (error) {
      this.#add('error', error instanceof Error ? error.message : String(error));
      this.#end(labels.failed);
    }
  }

  /** Returns the frame. Opens another one if programs have to reach another server. */
  async #frameFor(server: string | undefined): Promise<ExampleFrame> {
    if (this.#frame?.server === server && this.#frame) return this.#frame;
    this.#frame?.close();
    this.#frame = undefined;
    const onMessage = (run: number, message: LiveMessage): void => this.#show(run, message);
    this.#frame = await openFrame({ parent: this, server, onMessage });
    return this.#frame;
  }

  #show(id: number, message: LiveMessage): void {
    if (id !== this.#run) return;
    if (message.type === 'log') this.#add('console', message.text);
    if (message.type === 'error') {
      this.#add('error', message.text);
      this.#end(labels.failed);
    }
    if (message.type === 'done') this.#end(labels.done);
    if (message.type !== 'event') return;
    this.#source.add(message.event);
    this.#inspectButton.hidden = false;
    const line = eventLine(message.event);
    const last = this.#output.lastElementChild;
    if (line?.more && last?.firstElementChild?.textContent === line.label)
      last.lastElementChild!.textContent += line.text;
    else if (line) this.#add(line.label, line.text);
  }

  #add(label: string, text: string): void {
    const item = document.createElement('li');
    item.dataset['kind'] = label;
    const name = document.createElement('code');
    name.textContent = label;
    const value = document.createElement('span');
    value.textContent = text;
    item.append(name, ' ', value);
    this.#output.append(item);
  }

  #end(status: string): void {
    clearTimeout(this.#timer);
    this.#run = 0;
    this.#runButton.textContent = labels.run;
    this.#status.textContent = status;
    this.#frame?.post({ type: 'stop' });
  }

  async #edit(): Promise<void> {
    const program = await this.#load();
    const shown = this.firstElementChild as HTMLElement;
    const code = field(labels.code, program.code);
    const setup = field(labels.setup, program.setup);
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    summary.textContent = labels.showSetup;
    details.append(summary, setup);
    details.hidden = program.setup === '';
    const model = await this.#modelFields();
    const node = document.createElement('div');
    node.append(code, details, ...(program.setup.includes('ScriptedModel') ? [model.node] : []));
    this.#editor = { node, code, setup, model };
    shown.hidden = true;
    this.#bar.before(node);
    this.#editButton.hidden = true;
    this.#resetButton.hidden = false;
    code.focus();
    for (const each of [code, setup])
      each.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (this.#run === 0) void this.#toggle();
      });
  }

  /** Loads the fields only for readers who edit, because they need React. */
  async #modelFields(): Promise<ModelFields> {
    const { modelFields } = await import('./model-fields.tsx');
    const onTest = async (baseURL: string, apiKey: string): Promise<Connection> => {
      try {
        const frame = await this.#frameFor(new URL(baseURL).origin);
        return await frame.test(baseURL, apiKey);
      } catch (error) {
        return { works: false, problem: String(error) };
      }
    };
    return modelFields({ origin: (await liveOrigin()) ?? location.origin, onTest });
  }

  /** Shows the run in the inspector, or the list of events again. */
  async #inspect(): Promise<void> {
    if (this.#inspector) {
      this.#hideInspector();
      return;
    }
    const { defineInspector } = await import('@isoloop/inspector');
    defineInspector();
    const inspector = document.createElement('isoloop-inspector') as IsoloopInspector;
    inspector.className = 'not-content';
    inspector.source = this.#source;
    inspector.sessionId = (await this.#source.sessions()).at(-1)?.sessionId;
    this.#inspector = inspector;
    this.#inspectButton.setAttribute('aria-pressed', 'true');
    this.#output.hidden = true;
    this.append(inspector);
  }

  #hideInspector(): void {
    this.#inspector?.remove();
    this.#inspector = undefined;
    this.#inspectButton.hidden = this.#source.size === 0;
    this.#inspectButton.setAttribute('aria-pressed', 'false');
    this.#output.hidden = false;
  }

  #reset(): void {
    this.#editor?.node.remove();
    this.#editor = undefined;
    (this.firstElementChild as HTMLElement).hidden = false;
    this.#editButton.hidden = false;
    this.#resetButton.hidden = true;
    this.#editButton.focus();
  }
}

/** Returns the origin of the only server to which a program with this model may connect. */
function serverOf(model: ChosenModel | undefined): string | undefined {
  return model?.kind === 'endpoint' ? new URL(model.baseURL).origin : undefined;
}

function button(text: string): HTMLButtonElement {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  return made;
}

function field(label: string, text: string): HTMLTextAreaElement {
  const made = document.createElement('textarea');
  made.setAttribute('aria-label', label);
  made.value = text.trimEnd();
  made.rows = Math.min(40, made.value.split('\n').length + 1);
  made.spellcheck = false;
  made.autocapitalize = 'off';
  made.wrap = 'off';
  return made;
}

customElements.define('live-example', LiveExample);
