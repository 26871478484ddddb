/** Restricts a query by `customer` to the consumer of a caller whose scope has the own width. */

/** Returns the filter that replaces the one of the query. */
export function ofOwner(owner: string | null): { readonly customer?: string } {
  return owner === null ? {} : { customer: owner }
}

/** Whether the query asks for another consumer, of which the caller sees nothing. */
export function isOfOther(owner: string | null, customer: string | undefined): boolean {
  return owner !== null && customer !== undefined && customer !== owner
}
