/** Returns the roles of messages in one text, such as `user assistant tool`. */
export function rolesOf(messages: readonly { readonly role: string }[] = []): string {
  return messages.map(({ role }) => role).join(' ');
}
