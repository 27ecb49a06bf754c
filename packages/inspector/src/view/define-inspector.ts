import { checkId } from '@isoloop/core/options';
import type { ReplayAgent } from '../replay/replay-run.ts';
import type { InspectorSource } from '../source/inspector-source.ts';
import type { InspectedEvent } from '../steps/event-runs.ts';
import { InspectorPanel } from './inspector-panel.ts';
import { inspectorStyle } from './inspector-style.ts';

/** The element `<isoloop-inspector>`. */
export interface IsoloopInspector extends HTMLElement {
  /** Where the inspector reads conversations and events: `workerSource()` or `endpointSource()`. */
  source: InspectorSource | undefined;
  /**
   * Id of the shown conversation. Also the attribute `session-id`. Throws `INVALID_INPUT` for an id
   * that is blank or no string.
   */
  sessionId: string | undefined;
  /** Size of the model's context window in tokens, for the gauge. Default: the gauge has no end. */
  contextWindow: number | undefined;
  /**
   * Builds the agent for replays, with the middleware and tools of yours. Default: an agent without
   * middleware.
   */
  replayAgent: ReplayAgent | undefined;
  /**
   * Adds events that the page has from elsewhere, such as those of an agent in the page itself.
   * Ignores events that the inspector has already.
   */
  addEvents(events: readonly object[]): void;
}

/** Detail of the event `isoloop-session`. */
export interface InspectorSessionDetail {
  readonly sessionId: string;
  /** Whether the inspector has made the conversation. */
  readonly isFork: boolean;
}

const defaultName = 'isoloop-inspector';

/**
 * Defines the element `<isoloop-inspector>`, if the page has not done so. When the reader chooses
 * another conversation or forks one, the element shows it and dispatches `isoloop-session` with an
 * `InspectorSessionDetail`.
 *
 * @example
 * defineInspector();
 * const inspector = document.createElement('isoloop-inspector') as IsoloopInspector;
 * inspector.source = workerSource(worker);
 * inspector.sessionId = 'notes';
 * document.body.append(inspector);
 */
export function defineInspector(name: string = defaultName): void {
  if (!customElements.get(name)) customElements.define(name, inspectorClass());
}

/** Fields that are no attributes. */
const fields = ['source', 'contextWindow', 'replayAgent'] as const;

type Field = (typeof fields)[number];

/** Moves the fields that a page set before it defined the element. */
function takeOwnFields(element: Partial<IsoloopInspector>, target: object): void {
  for (const field of fields) {
    if (!Object.hasOwn(element, field)) continue;
    Object.assign(target, { [field]: element[field] });
    delete element[field];
  }
}

function setSessionId(element: Element, sessionId: string | undefined): void {
  if (sessionId === undefined) return element.removeAttribute('session-id');
  checkId(sessionId, 'sessionId of the inspector');
  element.setAttribute('session-id', sessionId);
}

/** A class at the top of the module would read a global when a server imports it. */
function inspectorClass(): CustomElementConstructor {
  // A content security policy may refuse <style>, but not this.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(inspectorStyle);
  class Inspector extends HTMLElement {
    static readonly observedAttributes = ['session-id'];
    readonly panel = new InspectorPanel({
      onSession: (sessionId, isFork) => {
        this.sessionId = sessionId;
        const detail: InspectorSessionDetail = { sessionId, isFork };
        this.dispatchEvent(new CustomEvent('isoloop-session', { detail, bubbles: true }));
      },
    });
    readonly fields: { [K in Field]?: IsoloopInspector[K] } = {};

    constructor() {
      super();
      const root = this.attachShadow({ mode: 'open' });
      root.adoptedStyleSheets = [sheet];
      root.append(this.panel.node);
    }

    get sessionId(): string | undefined {
      const sessionId = this.getAttribute('session-id');
      return sessionId?.trim() ? sessionId : undefined;
    }

    set sessionId(sessionId: string | undefined) {
      setSessionId(this, sessionId);
    }

    addEvents(events: readonly object[]): void {
      this.panel.add(events as readonly InspectedEvent[]);
    }

    connectedCallback(): void {
      takeOwnFields(this, this.fields);
      const { source, contextWindow, replayAgent } = this.fields;
      this.panel.show({ source, contextWindow, replayAgent, sessionId: this.sessionId });
    }

    disconnectedCallback(): void {
      this.panel.close();
      this.fields.source?.close?.();
    }

    attributeChangedCallback(): void {
      if (this.isConnected) this.connectedCallback();
    }
  }
  for (const field of fields) {
    Object.defineProperty(Inspector.prototype, field, {
      get(this: Inspector) {
        return this.fields[field];
      },
      set(this: Inspector, value: never) {
        if (value === this.fields[field]) return;
        if (field === 'source') this.fields.source?.close?.();
        this.fields[field] = value;
        this.attributeChangedCallback();
      },
    });
  }
  return Inspector;
}
