/** The request for an operation: that of the client, or one that the gateway has made from another message of the client. */

export interface OperationRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** Name, value, … as received. */
  readonly rawHeaders: readonly string[]
}

/** Returns the values of a header in their order. Most calls read few headers, so that no table of all is made. */
export function valuesOf({ rawHeaders }: OperationRequest, lowerName: string): readonly string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) values.push(rawHeaders[index + 1]!)
  }
  return values
}
