import { useId, useState } from 'react';
import { modelPresets } from './model-presets.ts';
import type { Settings } from './settings.ts';
import { testConnection, type Connection } from './test-connection.ts';

/** What a user enters about an endpoint. */
export interface EndpointFields extends Readonly<Settings['endpoint']> {
  readonly apiKey: string;
  readonly keepsKey: boolean;
}

export interface EndpointFormProps {
  readonly fields: EndpointFields;
  readonly onChange: (changes: Partial<EndpointFields>) => void;
  /** Whether the worker has kept a key for this server. Default: false. */
  readonly isKeyKept?: boolean;
  /** Says where the key is, if it cannot be kept. Default: the user may keep it in this browser. */
  readonly keyHint?: string;
  /** Origin from which the requests are sent. Default: that of the page. */
  readonly origin?: string;
  /** Asks the server for its models. Default: from this page. */
  readonly onTest?: typeof testConnection;
}

/** The fields for a model at an OpenAI-compatible endpoint. */
export function EndpointForm({
  fields,
  onChange,
  isKeyKept = false,
  keyHint,
  origin = location.origin,
  onTest = testConnection,
}: EndpointFormProps) {
  const listId = useId();
  const { baseURL, model, apiKey, keepsKey } = fields;
  const [tested, setTested] = useState<Connection>();
  const [isTesting, setIsTesting] = useState(false);
  const preset = modelPresets.find((one) => one.baseURL === baseURL);
  const test = async (): Promise<void> => {
    setIsTesting(true);
    setTested(await onTest(baseURL, apiKey.trim()));
    setIsTesting(false);
  };
  return (
    <div className="fields">
      <div className="presets" role="group" aria-label="Presets">
        {modelPresets.map(({ name, ...values }) => (
          <button
            key={name}
            type="button"
            onClick={() => {
              setTested(undefined);
              onChange({ baseURL: values.baseURL, model: values.model, api: values.api });
            }}
          >
            {name}
          </button>
        ))}
      </div>
      {preset && <p className="hint">{preset.needs(origin)}</p>}
      <label>
        Base URL
        <input
          type="url"
          required
          value={baseURL}
          onChange={({ target }) => onChange({ baseURL: target.value, api: 'chat' })}
          placeholder="https://api.openai.com/v1"
        />
      </label>
      <label>
        Model
        <input
          required
          value={model}
          onChange={({ target }) => onChange({ model: target.value })}
          placeholder="gpt-5-mini"
          list={listId}
          autoCapitalize="off"
          spellCheck={false}
        />
      </label>
      <label>
        Key
        <input
          type="password"
          value={apiKey}
          placeholder={isKeyKept ? 'The worker has it' : ''}
          onChange={({ target }) => onChange({ apiKey: target.value })}
          autoComplete="off"
        />
      </label>
      {keyHint === undefined && (
        <label className="keep">
          <input
            type="checkbox"
            checked={keepsKey}
            onChange={({ target }) => onChange({ keepsKey: target.checked })}
          />
          Keep the key in this browser
        </label>
      )}
      <datalist id={listId}>
        {tested?.works && tested.models.map((id) => <option key={id} value={id} aria-label={id} />)}
      </datalist>
      <div className="test">
        <button type="button" disabled={isTesting || !baseURL} onClick={() => void test()}>
          Test the connection
        </button>
        <p role="status">{tested && resultOf(tested)}</p>
      </div>
      <p className="hint">{keyHint ?? (keepsKey ? keptHint : forgottenHint)}</p>
    </div>
  );
}

const keptHint =
  'The worker keeps the key in its own database in this browser. The page never reads it back. Whoever uses this browser can use the key.';
const forgottenHint =
  'The key stays in the memory of this page and its worker, and of other tabs with this conversation. It is stored nowhere and gone with them: a page that is loaded again asks for it.';

/** Returns the fields without spaces around them, and without a slash at the end of the address. */
export function trimmed(fields: EndpointFields): EndpointFields {
  return {
    ...fields,
    baseURL: fields.baseURL.trim().replace(/\/+$/, ''),
    model: fields.model.trim(),
    apiKey: fields.apiKey.trim(),
  };
}

function resultOf(tested: Connection): string {
  return tested.works ? `It works: ${tested.models.length} models.` : tested.problem;
}
