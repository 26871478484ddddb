/** A tab on the page of an API. */

import type { FunctionComponent } from 'preact'
import type { Answer } from '../../api/operations.ts'

export type Api = Answer<'/v1/apis/:name'>

export interface ApiTabProps {
  readonly api: Api
  /** After a change of the API. */
  readonly reload: () => void
}

export interface ApiTab {
  /** Below `apis/{name}`; empty: the first tab. The tab has every path below its own. */
  readonly path: string
  readonly title: string
  /** A person with this scope, in either width, sees the tab. */
  readonly scope: string
  readonly View: FunctionComponent<ApiTabProps>
}
