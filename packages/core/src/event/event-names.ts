/** The types of all events, for `checkOptions`. */
export const eventNames: string =
  'run-start pre-call post-call pre-reasoning post-reasoning reasoning-chunk tool-input-chunk ' +
  'hosted-tool-chunk pre-acting acting-chunk post-acting pre-summary summary-chunk post-summary ' +
  'step-reset context-fitted suspended error run-end';
