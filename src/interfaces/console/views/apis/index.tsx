/** APIs: the catalogue, the publication of a new one, and a page for each. */

import { segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { ApiPage } from './api.tsx'
import { Catalogue } from './catalogue.tsx'
import { PublishApi } from './publish.tsx'
import { StagedRevisions } from './staged.tsx'
import './apis.css'

/** No API has these names: theirs end with a version. */
const NEW = 'new'
const STAGED = 'staged'

export function Apis() {
  const name = segment(1)
  // Who may read deployments and not the catalogue, sees what is staged.
  if (name === '' && may('apis:read')) return <Catalogue />
  if (name === '' || name === STAGED) return <StagedRevisions />
  if (name === NEW) return <PublishApi />
  return <ApiPage key={name} name={name} tab={segment(2)} />
}
