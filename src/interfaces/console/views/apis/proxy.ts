/** The deployment of an API, as the platform answers it. */

import type { Item } from '../../api/operations.ts'

export type Proxy = Item<'/v1/proxies'>
