import { functionNames } from './function-names.ts';
import { nounNames } from './noun-names.ts';

/** Our own lint rules. */
// oxlint-disable-next-line import/no-default-export -- Oxlint reads the default export
export default {
  meta: { name: 'isoloop' },
  rules: { 'function-names': functionNames, 'noun-names': nounNames },
};
