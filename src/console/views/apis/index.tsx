/** APIs: the catalogue, the publication of a new one, and a page for each. */

import { segment } from '../../router.ts'
import { ApiPage } from './api.tsx'
import { Catalogue } from './catalogue.tsx'
import { PublishApi } from './publish.tsx'
import './apis.css'

/** No API has this name: theirs end with a version. */
const NEW = 'new'

export function Apis() {
  const name = segment(1)
  if (name === '') return <Catalogue />
  if (name === NEW) return <PublishApi />
  return <ApiPage key={name} name={name} tab={segment(2)} />
}
