/** APIs: the catalogue, and a page for each. */

import { path } from '../../router.ts'
import { ApiPage } from './api.tsx'
import { Catalogue } from './catalogue.tsx'

export function Apis() {
  const [, name = '', tab = ''] = path.value.split('/')
  if (name === '') return <Catalogue />
  return <ApiPage key={name} name={decodeURIComponent(name)} tab={tab} />
}
