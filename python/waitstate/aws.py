"""Authenticates with AWS credentials; needs boto3."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from .api import Authenticate
from .errors import WaitstateError


def iam_auth(region: Optional[str] = None, session: Any = None) -> Authenticate:
    """Signs each request with the credentials of boto3, for an API with IAM authentication."""
    import boto3
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    connected = session or boto3.Session()
    signed_region = region or connected.region_name

    def sign(method: str, url: str, body: bytes) -> Mapping[str, str]:
        credentials = connected.get_credentials()
        if credentials is None or signed_region is None:
            missing = "a region" if credentials else "AWS credentials"
            message = f"Expected {missing} to sign requests to {url}; found none. Configure it as for the AWS CLI."
            raise WaitstateError("NOT_AUTHENTICATED", message)
        request = AWSRequest(method=method, url=url, data=body)
        SigV4Auth(credentials.get_frozen_credentials(), "execute-api", signed_region).add_auth(request)
        return dict(request.headers.items())

    return sign
