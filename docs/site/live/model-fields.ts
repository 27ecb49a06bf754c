import type { ChosenModel } from './chosen-model.ts';

export interface ModelFields {
  readonly node: HTMLElement;
  /** Returns the reader's model, or `undefined` for the replies of the setup. */
  chosen(): ChosenModel | undefined;
}

/** Creates the fields with which a reader uses a model server instead of the scripted replies. */
export function modelFields(): ModelFields {
  const node = document.createElement('fieldset');
  node.className = 'live-model not-content';
  const legend = document.createElement('legend');
  legend.textContent = 'Model';
  const kind = document.createElement('select');
  kind.setAttribute('aria-label', 'Model of the example');
  kind.append(
    new Option('The scripted replies of the setup', 'scripted'),
    new Option('An OpenAI-compatible server, such as Ollama', 'server'),
  );
  const baseURL = textField('Base URL', 'http://127.0.0.1:11434/v1');
  const model = textField('Model name', 'qwen3');
  const server = document.createElement('span');
  server.append(baseURL.label, model.label);
  server.hidden = true;
  kind.addEventListener('change', () => (server.hidden = kind.value !== 'server'));
  node.append(legend, kind, server);
  return {
    node,
    chosen: () =>
      kind.value === 'server'
        ? { baseURL: baseURL.input.value, model: model.input.value }
        : undefined,
  };
}

function textField(name: string, value: string): { label: HTMLElement; input: HTMLInputElement } {
  const label = document.createElement('label');
  const input = document.createElement('input');
  input.value = value;
  input.spellcheck = false;
  label.append(`${name} `, input);
  return { label, input };
}
