"""Nonlinear gossiping (NGO) for decentralized optimization.

Importing the package imports nothing heavy; take the module that you need, for example
``from ngo.coupling import gossip_step``.
"""

__version__ = "0.1.0"
