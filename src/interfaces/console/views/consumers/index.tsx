/** Applications and agents that call APIs: the list, and the page of each. */

import { segment } from '../../router.ts'
import { ConsumerList } from './consumer-list.tsx'
import { ConsumerPage } from './consumer-page.tsx'
import './consumers.css'

export function Consumers() {
  const id = segment(1)
  return id === '' ? <ConsumerList /> : <ConsumerPage key={id} id={id} tab={segment(2)} />
}
