import { checkFields } from '../../error/options/check-fields.ts';
import { array, withMethod } from '../../error/options/kinds.ts';
import { checkTool } from '../../tool/tool.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';

export function toolsOf(live: LiveRun): Run['tools'] {
  return {
    get current() {
      return live.tools.current;
    },
    get schemas() {
      return live.tools.schemas;
    },
    get added() {
      return live.tools.added;
    },
    context: live.tools.context,
    add(tools) {
      const toolbox = live.alive().tools;
      checkFields('run.tools.add()', { tools }, { tools: array });
      tools.forEach(checkTool);
      toolbox.add(tools);
    },
    set(tools) {
      const toolbox = live.alive().tools;
      checkFields('run.tools.set()', { tools }, { tools: toolSet });
      toolbox.current = tools;
    },
  };
}

const toolSet = withMethod('schemas', 'a tool set, as `allowTools()` returns it');
