/** Checks the transformation of an API that a request stages. */

import { invalidAt } from '../command/commands.ts'
import { comparedName, refuseHeaderName, type HeaderUse } from '../../boundary/plan/header-names.ts'
import type { BasePathTransform, HeaderTransform, TransformPlan } from '../../boundary/plan/transform-plan.ts'

/** Segments of unreserved characters and others that no server decodes (RFC 3986, 3.3), none of them dots only. */
const PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~!$&'()*+,=:@-]+)+$/

/** Throws a problem at the first fault. Returns null if the transformation changes nothing. */
export function toTransform(input: TransformPlan): TransformPlan | null {
  const { request, response, basePath } = input
  if (request !== undefined) checkHeaders(request, 'request')
  if (response !== undefined) checkHeaders(response, 'response')
  if (basePath !== undefined) checkBasePath(basePath)
  return changesNothing(input) ? null : input
}

function changesNothing({ request = {}, response = {}, basePath }: TransformPlan): boolean {
  const lists: readonly (readonly unknown[])[] = [request, response].flatMap((each) => Object.values(each))
  return basePath === undefined && lists.every(({ length }) => length === 0)
}

function checkHeaders({ remove = [], set = [], add = [] }: HeaderTransform, use: Exclude<HeaderUse, 'secret'>): void {
  const at = `/transform/${use}`
  refuseNames(remove, use, (index) => `${at}/remove/${index}`)
  refuseNames(namesOf(set), use, (index) => `${at}/set/${index}/name`)
  refuseNames(namesOf(add), use, (index) => `${at}/add/${index}/name`)
  const names = namesOf(set).map(comparedName)
  const twice = names.findIndex((name, index) => names.indexOf(name) < index)
  if (twice >= 0)
    throw invalidAt(`${at}/set/${twice}/name`, 'The name occurs twice in `set`. Use `add` for a second value.')
}

function namesOf(fields: readonly { readonly name: string }[]): readonly string[] {
  return fields.map(({ name }) => name)
}

function refuseNames(names: readonly string[], use: HeaderUse, pointerOf: (index: number) => string): void {
  for (const [index, name] of names.entries()) {
    const refused = refuseHeaderName(name, use)
    if (refused !== null) throw invalidAt(pointerOf(index), refused)
  }
}

function checkBasePath(basePath: BasePathTransform): void {
  for (const member of ['from', 'to'] as const) {
    const path = basePath[member]
    if (path !== '/' && !PATH.test(path)) {
      throw invalidAt(
        `/transform/basePath/${member}`,
        'Give `/` or a path such as /v1/pay: without a slash at its end, escapes, dot segments or a query.',
      )
    }
  }
}
