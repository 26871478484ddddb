/** The addresses of a backend, for a line of text. */

interface Backend {
  readonly url?: string | undefined
  readonly targets?: readonly { readonly url: string }[] | undefined
}

export function addressesOf({ url, targets = [] }: Backend): string {
  return url ?? targets.map((target) => target.url).join(', ')
}
