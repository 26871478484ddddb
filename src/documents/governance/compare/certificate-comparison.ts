/** Callers that present no client certificate must be able to call an operation as before. */

import type { DeclaredOperation } from '../operations.ts'
import { CLIENT_CERTIFICATE, requiresCertificate } from '../serving/gateway-extensions.ts'
import type { Sides } from './sides.ts'

export function compareCertificates(
  { previous, next, report }: Pick<Sides, 'previous' | 'next' | 'report'>,
  before: DeclaredOperation,
  after: DeclaredOperation,
): void {
  const [was, is] = [requiresCertificate(previous, before), requiresCertificate(next, after)]
  if (was === is) return
  const at = { pointer: placeOf(after), previousPointer: placeOf(before) }
  report(is ? 'security.certificate.required' : 'security.certificate.removed', at)
}

function placeOf({ fields, pointer }: DeclaredOperation): string {
  return fields[CLIENT_CERTIFICATE] === undefined ? pointer : `${pointer}/${CLIENT_CERTIFICATE}`
}
