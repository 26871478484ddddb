/** Composes the attempts to serve what this node withholds. */

import type { Proxies } from '../control/publishing/proxies.ts'
import { createWithheldRetries, type WithheldRetries } from '../control/publishing/withheld-retries.ts'
import type { Core } from './open-core.ts'

/** Remembers what is withheld; the attempts begin with `start`. `proxies` is called only then. */
export function createWithheld(
  { clock, count, log }: Pick<Core, 'clock' | 'count' | 'log'>,
  proxies: () => Pick<Proxies, 'retry'>,
): WithheldRetries {
  return createWithheldRetries({
    retry: (api) => proxies().retry(api),
    clock,
    onServed: (api) => log.info({ api }, 'an API that was withheld on this node, or its canary, is served again'),
    onFailed(api, cause) {
      count('revision_withheld')
      log.error({ err: cause, api }, 'an API that is withheld on this node still cannot be served; it tries again')
    },
  })
}
