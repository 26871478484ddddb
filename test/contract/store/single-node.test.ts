import { systemClock } from '../../../src/runtime/clock.ts'
import { createSingleNode } from '../../../src/store/nodes.ts'
import { nodesContract } from './nodes.contract.ts'

nodesContract('one node', () => createSingleNode(systemClock))
