import * as vitest from 'vitest';
import { rulesOf } from '@test/request-rules/broken-rules.ts';
import { httpProviders } from '@test/support/providers.ts';
import type { ModelDelta } from '../model/chat-model.ts';
import { modelConformance } from './model-conformance.ts';
import type { ConformanceReply } from './model-outcome.ts';
import { ScriptedModel } from './scripted-model.ts';

for (const { name, model, wire, rules } of httpProviders)
  modelConformance(vitest, `${name}()`, {
    model: (fetch) => model({ model: 'm', apiKey: 'k', fetch }),
    wire,
    rules: rulesOf(rules),
  });

modelConformance(vitest, 'ScriptedModel', { modelWith: scripted });

function scripted(reply: ConformanceReply): ScriptedModel {
  const { thinking = [], text = [], toolCalls = [], finish, usage } = reply;
  const deltas: readonly ModelDelta[] = [
    ...thinking.map((delta): ModelDelta => ({ type: 'thinking', id: 't', delta })),
    ...text.map((delta): ModelDelta => ({ type: 'text', id: 'a', delta })),
    ...toolCalls.flatMap(({ id, name, arguments: pieces }, index): readonly ModelDelta[] => [
      { type: 'tool-input', index, id, name, delta: '' },
      ...pieces.map((delta): ModelDelta => ({ type: 'tool-input', index, delta })),
    ]),
    { type: 'finish', reason: finish, ...(usage && { usage }) },
  ];
  return new ScriptedModel([[{ deltas: deltas.map((delta) => [delta]) }]]);
}
