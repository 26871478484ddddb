/** Why the service has refused the value at an RFC 6901 pointer, or one below it. */

import type { Problem } from '../api/client.ts'

export function faultAt(errors: Problem['errors'] = [], pointer: string): string | undefined {
  return errors.find((each) => each.pointer === pointer || each.pointer.startsWith(`${pointer}/`))?.detail
}
