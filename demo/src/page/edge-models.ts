/** Returns the models that the edge offers, or an empty list if the edge cannot be reached. */
export async function edgeModels(): Promise<readonly string[]> {
  try {
    const response = await fetch('/v1/models');
    const { data } = (await response.json()) as {
      readonly data: readonly { readonly id: string }[];
    };
    return data.map(({ id }) => id);
  } catch {
    return [];
  }
}
