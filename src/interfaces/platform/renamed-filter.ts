/** Filters of lists that have two names. */

import { invalidQuery } from './time-range.ts'

/** Returns the value of a filter under its former name, which is still its name inside; callers may send it under either. */
export function renamed<Name extends string, Former extends string, Value extends string>(
  query: { readonly [Key in Name | Former]?: Value },
  name: Name,
  former: Former,
): { readonly [Key in Former]?: Value } {
  const { [name]: now, [former]: before } = query
  if (now !== undefined && before !== undefined && now !== before) {
    throw invalidQuery(`/${former}`, `This is the former name of ${name}. Send only one of the two.`)
  }
  const value = now ?? before
  return (value === undefined ? {} : { [former]: value }) as { readonly [Key in Former]?: Value }
}
