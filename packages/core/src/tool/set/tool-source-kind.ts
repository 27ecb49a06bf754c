import { array, either, withMethod } from '../../error/options/kinds.ts';
import type { Kind } from '../../error/options/option-table.ts';
import type { ToolSource } from '../tool.ts';

/** Where an agent's tools come from. `Toolkit` is the class of the package with `schemas()`. */
export const toolSource: Kind<ToolSource> = either(array, withMethod('schemas', 'a Toolkit'));
