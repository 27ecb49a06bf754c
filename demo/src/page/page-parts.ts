import { browserModel, pageModel, pageTools, type PagePart } from '@isoloop/web-worker';
import type { ModelChoice } from './settings.ts';
import { windowSize } from './window-size.ts';

const tools = pageTools([windowSize]);
const withModel: readonly PagePart[] = [tools, pageModel(browserModel())];
const toolsAlone: readonly PagePart[] = [tools];

/** Returns what this page does for the agent in its worker. */
export function pageParts(model: ModelChoice): readonly PagePart[] {
  return model.kind === 'browser' ? withModel : toolsAlone;
}
