/** The refusal of an API name that another tenant has taken, with a name that is free. */

import { Problem } from '../../foundation/domain/problem.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { API_KIND } from './apis.ts'

const ATTEMPTS = 5
const SUFFIX_LENGTH = 5

/** The suggestion ends in random characters, so that it discloses no name of another tenant. */
export async function takenName(registry: Pick<Registry, 'get'>, createId: CreateId, api: string): Promise<Problem> {
  const detail = `The name ${api} is taken on this gateway. Choose another title, or set \`x-tollgate-name\``
  const [, base = api, major = ''] = /^(.*?)(-v\d+)?$/s.exec(api) ?? []
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const suggestion = `${base}-${createId('api').slice(-SUFFIX_LENGTH)}${major}`
    if ((await registry.get(API_KIND, suggestion)) === null) {
      return new Problem('name_taken', `${detail}; \`${suggestion}\` is free.`, { extensions: { suggestion } })
    }
  }
  return new Problem('name_taken', `${detail}.`)
}
