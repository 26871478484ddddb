/** Request bodies of two versions of an operation. */

import type { DeclaredOperation } from '../operations.ts'
import { readBytesMax } from '../serving/compile-parameters.ts'
import { entryFor, isValidated, requestMediaOf } from './media-types.ts'
import { follow, type Sides } from './sides.ts'

const LIMIT = 'x-tollgate-max-body-bytes'

export function compareBodies(sides: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const { report, requests, operation } = sides
  const [had, has] = [before.fields['requestBody'] !== undefined, after.fields['requestBody'] !== undefined]
  const one = follow(sides.previous, before.fields['requestBody'], `${before.pointer}/requestBody`)
  const other = follow(sides.next, after.fields['requestBody'], `${after.pointer}/requestBody`)
  const at = { pointer: other.pointer, previousPointer: had ? one.pointer : before.pointer }
  if (!has) return had ? report('body.removed', { ...at, pointer: one.pointer }) : undefined
  if (!had) {
    return report(other.fields['required'] === true ? 'body.added.required' : 'body.added', at)
  }
  if (other.fields['required'] === true && one.fields['required'] !== true) report('body.made.required', at)
  const [was, is] = [requestMediaOf(one.fields, one.pointer), requestMediaOf(other.fields, other.pointer)]
  sides.budget.spend(was.size + is.size)
  for (const mediaType of new Set([...was.keys(), ...is.keys()])) {
    const [earlier, later] = [entryFor(was, mediaType), entryFor(is, mediaType)]
    if (earlier === undefined) continue
    if (later === undefined) {
      const previousPointer = earlier.pointer.slice(0, -'/schema'.length)
      report('request.mediaType.removed', { pointer: `${other.pointer}/content`, previousPointer, detail: mediaType })
    } else {
      const schemas = isValidated(mediaType) ? requests : sides.unvalidated
      schemas.add(earlier, later, operation)
    }
  }
  compareSizes(sides, before, after)
}

/** The gateway refuses validated bodies above their limit. */
function compareSizes({ report }: Sides, before: DeclaredOperation, after: DeclaredOperation): void {
  const limitOf = ({ fields, pointer }: DeclaredOperation): number => readBytesMax(fields[LIMIT], pointer, [])
  const [was, is] = [limitOf(before), limitOf(after)]
  if (is >= was) return
  const at = { pointer: `${after.pointer}/${LIMIT}`, previousPointer: `${before.pointer}/${LIMIT}` }
  report('body.size', { ...at, detail: `${was} to ${is} bytes` })
}
